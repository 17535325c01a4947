// Reads secrets as a JSON array. For each secret, prints the signature that the official library makes with it, or null: the
// library refuses the secret.
package main

import (
	"encoding/json"
	"os"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func signed(secret string) any {
	webhook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return nil
	}
	signature, err := webhook.Sign("id", time.Unix(1, 0), []byte("body"))
	if err != nil {
		panic(err)
	}
	return signature
}

func main() {
	var secrets []string
	if err := json.NewDecoder(os.Stdin).Decode(&secrets); err != nil {
		panic(err)
	}
	signatures := []any{}
	for _, secret := range secrets {
		signatures = append(signatures, signed(secret))
	}
	if err := json.NewEncoder(os.Stdout).Encode(signatures); err != nil {
		panic(err)
	}
}
