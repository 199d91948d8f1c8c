// Package engine is one whole node without I/O: an algorithm, a failure detector and the membership.
//
//	e := engine.New(config, saved...)
//	out := e.Start(now)
//	for {
//		driver.save(out.Save)   // first: a message never promises what a restart forgets
//		driver.perform(out)     // then the rest, in the order of the fields of Output
//		event := driver.wait(e.Deadline())
//		out = event.apply(e)    // Receive, Up, Down, HandleDialFailure, Wake …
//	}
//
// An [Engine] is a pure state machine. Its driver passes in events and the time, and performs the [Output]: it saves,
// and then does everything else. Package cluster drives it with sockets and the real clock, package sim in virtual
// time. The same inputs give the same outputs.
//
// Messages and records are values: the driver encodes them. So a simulation encodes nothing.
package engine
