package result

// Benchmarks that elect bench runs too. "go test -bench" has more of each, under the same names.
const (
	Election  = "Election"  // what an election costs, counted in the simulator
	Wire      = "Wire"      // the same of live nodes
	Failover  = "Failover"  // from a fault of the leader until all know the next
	Cost      = "Cost"      // what a fault costs an application
	Stability = "Stability" // whether a leader that works is left to work
	Detector  = "Detector"  // time until a crash is found, against mistakes
	Steady    = "Steady"    // the cost at rest
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

	MetricNone     = "ms/no-leader"   // no node that runs leads
	MetricTwo      = "ms/two-leaders" // two nodes that run lead
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
	MetricAccuracy  = "accuracy"   // the part of the time in which a live process is trusted
)

// Metrics are all of them, in the order in which lines and tables have them.
var Metrics = []string{
	MetricSent, MetricTurnaround, MetricDelivered, MetricBytes, MetricFailover, MetricDetect, MetricElect, MetricT, MetricFailoverMessages,
	MetricFrames, MetricTraffic, MetricProcessor, MetricHeap,
	MetricEnds, MetricNone, MetricTwo, MetricOneTerm, MetricUnled, MetricChanges, MetricMessages, MetricTook, MetricSlower, MetricAgreed, MetricUp,
	MetricDetection, MetricSlowest, MetricMistakes, MetricMistake, MetricAccuracy,
}
