// Package common has what the programs of this folder share: their settings, and how they say what they read (../scenario.py).
package common

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"time"
)

var (
	API, LaterAPI        = os.Getenv("API"), os.Getenv("API_LATER")
	Token, ReadOnlyToken = os.Getenv("TOKEN"), os.Getenv("TOKEN_READ_ONLY")
	URL                  = os.Getenv("URL_OF_RECEIVER")
	Webhook              = Must(strconv.ParseInt(os.Getenv("WEBHOOK"), 10, 64))
	OnlyRefused          = len(os.Args) == 2 && os.Args[1] == "refused"
	Now                  = time.Now()
	Yesterday, Tomorrow  = Now.AddDate(0, 0, -1).UTC(), Now.AddDate(0, 0, 1).UTC()
	Large                = map[string]any{"relleno": strings.Repeat("x", 70_000)}
)

// Must returns the value, or ends the program with the problem.
func Must[T any](value T, problem error) T {
	if problem != nil {
		log.Fatal(problem)
	}
	return value
}

func Say(step string, values ...any) {
	line := []string{step}
	for _, one := range values {
		line = append(line, fmt.Sprint(one))
	}
	fmt.Println(strings.Join(line, " "))
}

// Until asks until done is true of the answer.
func Until[T any](ask func() T, done func(T) bool) T {
	for {
		if answer := ask(); done(answer) {
			return answer
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// OrNull is what Say prints for a field that may be null.
func OrNull[T any](value *T) any {
	if value == nil {
		return "null"
	}
	return *value
}

// Evaluation reads the number of the evaluation in the body of a notification.
func Evaluation(body *string) int64 {
	var notification struct {
		Data struct {
			EvaluacionId int64 `json:"evaluacionId"`
		} `json:"data"`
	}
	if problem := json.Unmarshal([]byte(*body), &notification); problem != nil {
		log.Fatal(problem)
	}
	return notification.Data.EvaluacionId
}
