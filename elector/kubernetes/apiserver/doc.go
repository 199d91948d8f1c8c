// Package apiserver tests package kubernetes against the API server of Kubernetes, kube-apiserver, with an etcd in the
// process of the test. It is a module of its own: k8s.io/kubernetes is large, and a module that requires it must
// replace all its parts.
package apiserver
