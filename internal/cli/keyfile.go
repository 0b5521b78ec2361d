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
	return secretLine("--key-file", file)
}

// secretLine reads a file that a flag names, of one line.
func secretLine(flag, file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	line := string(bytes.TrimSpace(text))
	if len(text) > maxKeyFile || line == "" {
		return "", BadUsage("%s %s: %d bytes that are no key, want one line", flag, file, len(text))
	}
	return line, nil
}
