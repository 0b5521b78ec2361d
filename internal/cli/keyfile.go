package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// keyVariable holds a client's key, unless --key-file names a file. Every user of
// the host could see a key on the command line.
const keyVariable = "CATFISH_KEY"

// maxKeyFile is larger than any key.
const maxKeyFile = 4 << 10

// clientKey returns the key of a client, empty if it has none.
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
		return "", BadUsage("--key-file %s: %d bytes that are no key, want one line", file, len(text))
	}
	return key, nil
}
