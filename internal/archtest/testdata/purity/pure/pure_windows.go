package pure

import . "time" // want: import of time in a pure package
