package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/web"
)

// A service mounts the handler in its own mux.
func ExampleNew() {
	data, err := os.MkdirTemp("", "elect")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(data)
	node, err := cluster.New(cluster.Config{Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}, DataDir: data})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- node.Run(ctx) }()
	_ = node.WaitLeader(ctx)

	mux := http.NewServeMux()
	mux.Handle("/elect/", http.StripPrefix("/elect", web.New(ctx, node)))
	server := httptest.NewServer(mux)
	defer server.Close()

	if answer, err := http.Get(server.URL + "/elect/leader"); err == nil {
		defer answer.Body.Close()
		var leader web.Leader
		err = json.NewDecoder(answer.Body).Decode(&leader)
		fmt.Println(answer.Status, leader.Name, leader.Epoch, err)
	}
	stop()
	fmt.Println(<-stopped)
	// Output:
	// 200 OK n1 1 <nil>
	// <nil>
}

// A client decodes the data of an event from /events.
func ExampleChange() {
	var change web.Change
	err := json.Unmarshal([]byte(`{"at":"2026-11-23T12:00:01Z","leader":{"name":"n2","addr":"10.0.0.2:7400","epoch":8},"leads":false,`+
		`"election":{"caller":"0192d3b8-7c1e-7000-8000-000000000002","reason":"silence","epoch":7,"silent_for_ns":380000000},"election_at":"2026-11-23T12:00:00Z","took_ns":1380000000}`), &change)
	fmt.Println(change.Leader.Name, "leads after", change.Leaderless, "because of", change.Election.Reason, err)
	// Output: n2 leads after 1.38s because of silence <nil>
}
