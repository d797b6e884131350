// The connection to Temporal.

package deploy

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"

	"countersign/activities"
	"countersign/cmd/countersign/internal/telemetry"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
)

// Client makes a client that connects at its first call: a process starts and says that it is not
// ready while Temporal is away. tel may be nil.
func (t *Temporal) Client(tel *telemetry.Telemetry, log *slog.Logger) (activities.Temporal, error) {
	o := client.Options{
		HostPort:  t.TemporalAddress,
		Namespace: t.TemporalNamespace,
		Logger:    sdklog.NewStructuredLogger(slog.New(temporalLog{log.With("part", "temporal").Handler()})),
	}
	if tel != nil {
		if err := tel.Temporal(&o, log); err != nil {
			return activities.Temporal{}, err
		}
	}
	if t.TemporalAPIKey != "" {
		o.Credentials = client.NewAPIKeyStaticCredentials(t.TemporalAPIKey)
	}
	var err error
	if o.ConnectionOptions.TLS, err = t.tls(); err != nil {
		return activities.Temporal{}, err
	}
	c, err := client.NewLazyClient(o)
	if err != nil {
		return activities.Temporal{}, fmt.Errorf("temporal client: %w", err)
	}
	return activities.Temporal{Client: c, Namespace: t.TemporalNamespace}, nil
}

// tls is nil for a plain connection.
func (t *Temporal) tls() (*tls.Config, error) {
	if !t.TemporalTLS && t.TemporalCA == "" && t.TemporalCert == "" && t.TemporalAPIKey == "" {
		return nil, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.TemporalCA != "" {
		pem, err := os.ReadFile(t.TemporalCA)
		if err != nil {
			return nil, fmt.Errorf("--temporal-ca: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--temporal-ca: %s holds no PEM certificate", t.TemporalCA)
		}
	}
	if t.TemporalCert != "" {
		pair, err := tls.LoadX509KeyPair(t.TemporalCert, t.TemporalKey)
		if err != nil {
			return nil, fmt.Errorf("--temporal-cert: %w", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}
