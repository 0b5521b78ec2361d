package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// keyVariable has a client's key, unless --key-file names a file. A key on the
// command line would be seen by every user of the host.
const keyVariable = "CATFISH_KEY"

// maxKeyFile is more than any key takes.
const maxKeyFile = 4 << 10

// clientKey is the key of a client, empty: none.
func clientKey(file string) (string, error) {
	if file == "" {
		return os.Getenv(keyVariable), nil
	}
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("--key-file: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return "", fmt.Errorf("--key-file: %w", err)
	}
	key := string(bytes.TrimSpace(text))
	if len(text) > maxKeyFile || key == "" {
		return "", badUsage("--key-file %s: %d bytes that are no key, want one line", file, len(text))
	}
	return key, nil
}
