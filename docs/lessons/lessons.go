// Package lessons has the lessons as files, so that a program without a clone can play them.
package lessons

import "embed"

// Files are the pages, the solutions, and the scenarios that they show. The pages are made from
// the folder source: go test ./cli -run TestLessonPages -update.
//
//go:embed *.md scenarios/*.txt solutions/*.md
var Files embed.FS
