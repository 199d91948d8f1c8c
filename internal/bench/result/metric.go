package result

// Benchmarks that elect bench runs too. "go test -bench" has more of each, under the same names.
const (
	Election  = "Election"  // messages and time of an election in the simulator
	Wire      = "Wire"      // the same with live nodes
	Failover  = "Failover"  // time from a failure of the leader until all know the next
	Cost      = "Cost"      // cost of a fault to an application
	Stability = "Stability" // whether a working leader keeps its leadership
	Detector  = "Detector"  // detection time of crashes, and mistakes
	Steady    = "Steady"    // cost of an idle cluster
)

// The metrics, each with its unit. T is the one-way time of a message.
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

	MetricNone     = "ms/no-leader"   // no running node leads
	MetricTwo      = "ms/two-leaders" // two running nodes lead
	MetricUnled    = "ms/unled-node"  // a running node has no reachable leader, the mean of the nodes
	MetricChanges  = "leader-changes"
	MetricMessages = "msgs/fault"
	MetricTook     = "ms/fault" // from the fault until all agree again

	MetricEnds    = "leaderships-ended" // of a node that kept its majority
	MetricOneTerm = "ms/two-in-one-term"
	MetricAgreed  = "ms/agreement"         // from the fault, or the start, until all agree for good
	MetricUp      = "ms/agreement-up"      // the part after the last process was ready
	MetricSlower  = "last/first-detection" // of pauses of the leader one after the other

	MetricDetection = "ms/detection" // the median of the crashes of a trial
	MetricSlowest   = "max-ms/detection"
	MetricMistakes  = "mistakes/hour"
	MetricMistake   = "ms/mistake" // mean duration of a mistake
	MetricAccuracy  = "accuracy"   // share of the time in which a live process is trusted
)

// Metrics contains all metrics, in the order of lines and tables.
var Metrics = []string{
	MetricSent, MetricTurnaround, MetricDelivered, MetricBytes, MetricFailover, MetricDetect, MetricElect, MetricT, MetricFailoverMessages,
	MetricFrames, MetricTraffic, MetricProcessor, MetricHeap,
	MetricEnds, MetricNone, MetricTwo, MetricOneTerm, MetricUnled, MetricChanges, MetricMessages, MetricTook, MetricSlower, MetricAgreed, MetricUp,
	MetricDetection, MetricSlowest, MetricMistakes, MetricMistake, MetricAccuracy,
}
