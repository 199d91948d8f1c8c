package result

// Labels that trials of some groups have, beside those that most have.
const (
	Convention = "convention" // one of the theory's, by which messages and turnaround are counted
	Signal     = "signal"     // that took the leader away: of failovers
	Clock      = "clock"      // "wall" where processes share no monotonic clock: of failovers
	Fault      = "fault"      // of what it costs an application
	Condition  = "condition"  // of the network and the processes: of the detector
	Adapts     = "adapts"     // "true" if the timeout grows after mistakes: of the detector
	Timeout    = "timeout-ms" // of the detector
)

// The metrics, each with its unit. T is the time that one message takes, one way.
const (
	MetricSent       = "msgs/election"
	MetricDelivered  = "delivered/election"
	MetricBytes      = "bytes/election" // of the frames that were sent, with their lengths
	MetricTurnaround = "T/election"

	MetricElect  = "ms/elect" // the turnaround on the wire; of a failover, what follows its detection
	MetricT      = "T-ms"     // T on the wire, the mean of an election
	MetricDetect = "ms/detect"

	MetricFailover         = "ms/failover"
	MetricFailoverMessages = "msgs/failover"

	MetricFrames    = "frames/interval/node" // in a heartbeat interval
	MetricTraffic   = "B/s/node"
	MetricProcessor = "%core/node"
	MetricHeap      = "KiB-heap/node"

	MetricNone     = "ms/no-leader"   // nobody who runs leads
	MetricTwo      = "ms/two-leaders" // two who run lead
	MetricUnled    = "ms/unled-node"  // a node runs and has no leader within reach, the mean of the nodes
	MetricChanges  = "leader-changes"
	MetricMessages = "msgs/fault"
	MetricTook     = "ms/fault" // from the fault until all agree again

	MetricEnds    = "leaderships-ended" // of a node that kept its majority
	MetricOneTerm = "ms/two-in-one-term"
	MetricAgreed  = "ms/agreement"         // from the fault, or the start, until all agree for good
	MetricUp      = "ms/agreement-up"      // the part after the last process was up
	MetricSlower  = "last/first-detection" // of pauses of the leader one after the other

	MetricDetection = "ms/detection" // the median of the crashes of a trial
	MetricSlowest   = "max-ms/detection"
	MetricMistakes  = "mistakes/hour"
	MetricMistake   = "ms/mistake" // how long they last, on the mean
	MetricAccuracy  = "accuracy"   // the part of the time in which who lives is trusted
)
