// Package kubetest has what tests of package kubernetes need: an API server for Leases, and a group of contenders with
// faults.
package kubetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	coordinationv1 "k8s.io/api/coordination/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// Server is the part of an API server that serves Leases. It follows k8s.io/apiserver (registry.Store and the watch
// cache) and the strategy of Leases in k8s.io/kubernetes:
//
//   - One counter of revisions for all objects, also for deletions. A write without a change keeps the version.
//   - 409 (Conflict) for a write with an old resource version or another UID; 422 for one without a version; 404.
//   - A PUT to a Lease that does not exist creates it, unless the PUT names a UID: then it is a conflict.
//   - A watch begins after its version, or with the current state if it names none. It sends bookmarks, and the error
//     410 (Gone) if its version was compacted.
//
// It has no authentication and no other resources. It reads all formats of the client, and writes JSON.
type Server struct {
	mu        sync.Mutex
	revision  uint64
	compacted uint64 // events up to this revision are gone
	leases    map[types.NamespacedName]*coordinationv1.Lease
	events    []event
	changed   chan struct{} // closed at the next event or compaction
	storage   func() error  // before each write; nil without a fault
}

type event struct {
	kind  watch.EventType
	lease *coordinationv1.Lease
}

// BeforeWrite sets a function that the server calls before each write; nil for none. A write fails with its error, as
// it does if the server's etcd rejects it.
func (s *Server) BeforeWrite(storage func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.storage = storage
}

// beforeWrite returns the error with which a write fails.
func (s *Server) beforeWrite() error {
	s.mu.Lock()
	storage := s.storage
	s.mu.Unlock()
	if storage == nil {
		return nil
	}
	err := storage()
	if err == nil {
		return nil
	}
	// An error that the API server has no reason for, as in responsewriters.ErrorToAPIStatus.
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}}
}

// NewServer returns a server without Leases.
func NewServer() *Server {
	return &Server{revision: 40, leases: make(map[types.NamespacedName]*coordinationv1.Lease), changed: make(chan struct{})}
}

var resource = schema.GroupResource{Group: coordinationv1.GroupName, Resource: "leases"}

const prefix = "/apis/coordination.k8s.io/v1/namespaces/"

// ServeHTTP serves one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, isLease := strings.CutPrefix(r.URL.Path, prefix)
	parts := strings.Split(rest, "/")
	if !isLease || len(parts) < 2 || len(parts) > 3 || parts[1] != "leases" {
		s.answer(w, nil, apierrors.NewGenericServerResponse(http.StatusNotFound, r.Method, schema.GroupResource{}, "", "the server could not find the requested resource", 0, false))
		return
	}
	key := types.NamespacedName{Namespace: parts[0]}
	if len(parts) == 3 {
		key.Name = parts[2]
	}
	switch {
	case r.Method == http.MethodGet && key.Name != "":
		lease, err := s.Get(key)
		s.answer(w, lease, err)
	case r.Method == http.MethodGet && r.URL.Query().Get("watch") != "":
		key.Name = strings.TrimPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
		s.watch(w, r, key)
	case r.Method == http.MethodPost && key.Name == "", r.Method == http.MethodPut && key.Name != "":
		lease := new(coordinationv1.Lease)
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = runtime.DecodeInto(scheme.Codecs.UniversalDeserializer(), body, lease)
		}
		if err != nil {
			s.answer(w, nil, apierrors.NewBadRequest(err.Error()))
			return
		}
		write := s.create
		if r.Method == http.MethodPut {
			write = s.update
		}
		if err := s.beforeWrite(); err != nil {
			s.answer(w, nil, err)
			return
		}
		written, err := write(key, lease)
		s.answer(w, written, err)
	case r.Method == http.MethodDelete && key.Name != "":
		s.answer(w, nil, s.Delete(key))
	default:
		s.answer(w, nil, apierrors.NewMethodNotSupported(resource, r.Method))
	}
}

// answer writes a Lease or an error; the status of success if both are nil.
func (s *Server) answer(w http.ResponseWriter, lease *coordinationv1.Lease, err error) {
	var body any = lease
	code := http.StatusOK
	if err != nil || lease == nil {
		status := metav1.Status{Status: metav1.StatusSuccess}
		if err != nil {
			status = err.(apierrors.APIStatus).Status()
			code = int(status.Code)
		}
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		body = status
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// Get returns a copy of a Lease.
func (s *Server) Get(key types.NamespacedName) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if lease := s.leases[key]; lease != nil {
		return lease.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(resource, key.Name)
}

func (s *Server) create(key types.NamespacedName, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	if key.Name = lease.Name; lease.ResourceVersion != "" {
		return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leases[key] != nil {
		return nil, apierrors.NewAlreadyExists(resource, key.Name)
	}
	return s.insert(key, lease)
}

// insert creates a Lease. The caller holds mu.
func (s *Server) insert(key types.NamespacedName, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	lease.UID, lease.CreationTimestamp = types.UID(uuid.NewString()), metav1.Now().Rfc3339Copy()
	return s.put(key, lease, watch.Added)
}

func (s *Server) update(key types.NamespacedName, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.leases[key]
	var uid types.UID
	if old != nil {
		uid = old.UID
	}
	conflict := func(reason string) error { return apierrors.NewConflict(resource, key.Name, fmt.Errorf("%s", reason)) }
	switch {
	case lease.Name != key.Name:
		return nil, apierrors.NewBadRequest("the name of the object does not match the name on the URL")
	case lease.UID != "" && lease.UID != uid:
		return nil, conflict(fmt.Sprintf("Precondition failed: UID in precondition: %s, UID in object meta: %s", lease.UID, uid))
	case old == nil:
		return s.insert(key, lease)
	case lease.ResourceVersion == "":
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: resource.Group, Kind: "Lease"}, key.Name,
			field.ErrorList{field.Invalid(field.NewPath("metadata", "resourceVersion"), "", "must be specified for an update")})
	case lease.ResourceVersion != old.ResourceVersion:
		return nil, conflict("the object has been modified; please apply your changes to the latest version and try again")
	}
	lease.UID, lease.CreationTimestamp, lease.TypeMeta = old.UID, old.CreationTimestamp, old.TypeMeta
	if apiequality.Semantic.DeepEqual(lease, old) {
		return old.DeepCopy(), nil
	}
	return s.put(key, lease, watch.Modified)
}

// put validates and stores a Lease. The caller holds mu.
func (s *Server) put(key types.NamespacedName, lease *coordinationv1.Lease, kind watch.EventType) (*coordinationv1.Lease, error) {
	var mistakes field.ErrorList
	if seconds := lease.Spec.LeaseDurationSeconds; seconds != nil && *seconds <= 0 {
		mistakes = append(mistakes, field.Invalid(field.NewPath("spec", "leaseDurationSeconds"), *seconds, "must be greater than 0"))
	}
	if n := lease.Spec.LeaseTransitions; n != nil && *n < 0 {
		mistakes = append(mistakes, field.Invalid(field.NewPath("spec", "leaseTransitions"), *n, "must be greater than or equal to 0"))
	}
	if len(mistakes) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: resource.Group, Kind: "Lease"}, key.Name, mistakes)
	}
	lease = lease.DeepCopy()
	lease.Namespace = key.Namespace
	lease.TypeMeta = metav1.TypeMeta{Kind: "Lease", APIVersion: coordinationv1.SchemeGroupVersion.String()}
	s.record(kind, lease)
	s.leases[key] = lease
	return lease.DeepCopy(), nil
}

// record gives a Lease the next version, and appends an event. The caller holds mu.
func (s *Server) record(kind watch.EventType, lease *coordinationv1.Lease) {
	s.revision++
	lease.ResourceVersion = strconv.FormatUint(s.revision, 10)
	s.events = append(s.events, event{kind, lease})
	close(s.changed)
	s.changed = make(chan struct{})
}

// Delete deletes a Lease.
func (s *Server) Delete(key types.NamespacedName) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.leases[key]
	if old == nil {
		return apierrors.NewNotFound(resource, key.Name)
	}
	delete(s.leases, key)
	s.record(watch.Deleted, old.DeepCopy())
	return nil
}

// Replace deletes a Lease, and creates one like another Lease, without a moment in between.
func (s *Server) Replace(key types.NamespacedName, like *coordinationv1.Lease) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.leases[key]; old != nil {
		s.record(watch.Deleted, old.DeepCopy())
	}
	_, err := s.insert(key, like.DeepCopy())
	return err
}

// Edit changes a Lease as an operator does, whatever its version is.
func (s *Server) Edit(key types.NamespacedName, edit func(*coordinationv1.Lease)) error {
	for {
		lease, err := s.Get(key)
		if err != nil {
			return err
		}
		edit(lease)
		if _, err = s.update(key, lease); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// Compact ends all watches with the error 410 (Gone), as if they were slow, and rejects all older versions.
func (s *Server) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision++ // another object has changed
	s.compacted, s.events = s.revision, nil
	close(s.changed)
	s.changed = make(chan struct{})
}

// bookmarks is the time between two bookmarks. An API server sends them about each minute.
const bookmarks = 2 * time.Second

// watch sends events until the client or its timeout ends the watch.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, key types.NamespacedName) {
	query := r.URL.Query()
	var timeout <-chan time.Time
	if seconds, err := strconv.Atoi(query.Get("timeoutSeconds")); err == nil {
		timeout = time.After(time.Duration(seconds) * time.Second)
	}
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	send := func(kind watch.EventType, object any) {
		_ = encoder.Encode(map[string]any{"type": kind, "object": object})
	}
	since, err := strconv.ParseUint(query.Get("resourceVersion"), 10, 64)
	if err != nil {
		s.mu.Lock()
		since = s.revision
		lease := s.leases[key]
		s.mu.Unlock()
		if lease != nil {
			send(watch.Added, lease)
		}
	}
	for {
		s.mu.Lock()
		var news []event
		for _, e := range s.events {
			if n, _ := strconv.ParseUint(e.lease.ResourceVersion, 10, 64); n > since && e.lease.Name == key.Name && e.lease.Namespace == key.Namespace {
				news = append(news, e)
			}
		}
		isGone := since < s.compacted
		since = s.revision
		changed := s.changed
		s.mu.Unlock()
		if isGone {
			status := apierrors.NewResourceExpired("too old resource version").Status()
			status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
			send(watch.Error, status)
			return
		}
		for _, e := range news {
			send(e.kind, e.lease)
		}
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-time.After(bookmarks):
			if query.Get("allowWatchBookmarks") == "true" {
				mark := &coordinationv1.Lease{TypeMeta: metav1.TypeMeta{Kind: "Lease", APIVersion: coordinationv1.SchemeGroupVersion.String()}}
				mark.ResourceVersion = strconv.FormatUint(since, 10)
				send(watch.Bookmark, mark)
			}
		case <-timeout:
			return
		case <-r.Context().Done():
			return
		}
	}
}
