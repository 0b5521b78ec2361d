package attack

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// A server whose HTTP is attacked has TLS, without which there is no HTTP/2;
// its gRPC has it then, too. Clients trust any certificate: its identity is not
// under test.

// tls is the configuration of clients.
func (t *Target) tls(protocols ...string) *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, NextProtos: protocols} // See above.
}

// credentials are those of gRPC clients.
func (t *Target) credentials() credentials.TransportCredentials {
	if t.HTTP == "" {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(t.tls())
}

// writeCertificate makes a certificate and its key in a directory.
func writeCertificate(dir string) (cert, key string, err error) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		return "", "", fmt.Errorf("attack: %w", err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "attacked"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(0, 1, 0), // longer than any soak
	}
	public, err := x509.CreateCertificate(crand.Reader, c, c, k.Public(), k)
	if err != nil {
		return "", "", fmt.Errorf("attack: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		return "", "", fmt.Errorf("attack: %w", err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	return cert, key, errors.Join(
		os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: public}), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
}
