// Package certstest makes certificates for tests.
package certstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// CA is a root.
type CA struct {
	File string // its certificate
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewCA makes a root, whose files go to dir.
func NewCA(t testing.TB, dir, name string) *CA {
	t.Helper()
	ca := &CA{File: filepath.Join(dir, name+".pem"), dir: dir}
	ca.cert, ca.key = ca.make(t, name, 1000, ca.File)
	return ca
}

// Issue makes a certificate of that number for localhost, for servers and
// clients, and its key.
func (ca *CA) Issue(t testing.TB, name string, serial int64) (cert, key string) {
	t.Helper()
	cert, key = filepath.Join(ca.dir, name+".pem"), filepath.Join(ca.dir, name+".key")
	_, k := ca.make(t, name, serial, cert)
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	write(t, key, "PRIVATE KEY", der)
	return cert, key
}

func (ca *CA) make(t testing.TB, name string, serial int64, file string) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	parent, signer := ca.cert, ca.key
	if parent == nil {
		c.IsCA, c.KeyUsage = true, x509.KeyUsageCertSign
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, "CERTIFICATE", der)
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return c, key
}

func write(t testing.TB, file, kind string, der []byte) {
	t.Helper()
	b := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
