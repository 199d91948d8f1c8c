module github.com/elect-go/elect

go 1.26.0
