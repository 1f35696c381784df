package events

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha1" // the default signature of SNS
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/flight"
)

// Reasons to refuse a message of SNS.
var (
	ErrSender    = errors.New("unknown sender")
	ErrSignature = errors.New("wrong signature")
	ErrReplay    = errors.New("too old, or from the future")
)

const (
	// oldest is how old a message may be: SNS tries for six hours.
	oldest = 7 * time.Hour
	// ahead is for clocks that differ.
	ahead = 15 * time.Minute
	// maxCertificates are kept, for a day each.
	maxCertificates = 16
	keepCertificate = 24 * time.Hour
	maxPEM          = 64 << 10
	// maxReads is how many certificates are read in a minute.
	maxReads = 10
)

// SNS checks and reads messages of SNS topics.
type SNS struct {
	Topics []string // ARNs of the accepted topics
	Client *http.Client
	Now    func() time.Time

	reading flight.Group[certificate]

	mu    sync.Mutex
	certs map[string]certificate
	reads []time.Time // that were begun
}

type certificate struct {
	key  *rsa.PublicKey
	from time.Time
	to   time.Time
	read time.Time
}

// message is a message that SNS posts.
type message struct {
	Type             string
	MessageID        string `json:"MessageId"`
	TopicARN         string `json:"TopicArn"`
	Subject          *string
	Message          string
	Timestamp        string
	SignatureVersion string
	Signature        string
	SigningCertURL   string
	SubscribeURL     string
	Token            string
}

// Types of messages.
const (
	typeNotification = "Notification"
	typeSubscribe    = "SubscriptionConfirmation"
	typeUnsubscribe  = "UnsubscribeConfirmation"
)

var (
	hostPattern = regexp.MustCompile(`^sns\.([a-z0-9-]+)\.amazonaws\.com(\.cn)?$`)
	pemPattern  = regexp.MustCompile(`^/SimpleNotificationService-[0-9a-f]+\.pem$`)
)

// read decodes a message, and checks its topic and its signature.
func (s *SNS) read(ctx context.Context, data []byte) (*message, error) {
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrMalformed, decodeError(err))
	}
	if len(m.MessageID) > maxName {
		return nil, fmt.Errorf("%w: MessageId is too long", ErrMalformed)
	}
	if !slices.Contains([]string{typeNotification, typeSubscribe, typeUnsubscribe}, m.Type) {
		return nil, fmt.Errorf("%w: Type must be one of SNS, it is %q", ErrMalformed, cut(m.Type))
	}
	if !slices.Contains(s.Topics, m.TopicARN) {
		return nil, fmt.Errorf("%w: topic %q is not one of --sns-topic", ErrSender, cut(m.TopicARN))
	}
	sent, err := time.Parse(time.RFC3339, m.Timestamp)
	if err != nil {
		return nil, fmt.Errorf("%w: Timestamp must be a time", ErrMalformed)
	}
	if now := s.Now(); now.Sub(sent) > oldest || sent.Sub(now) > ahead {
		return nil, fmt.Errorf("%w: it was sent at %s", ErrReplay, sent.UTC().Format(time.RFC3339))
	}
	if err := s.verify(ctx, &m); err != nil {
		return nil, err
	}
	return &m, nil
}

// cut shortens untrusted text.
func cut(text string) string { return fmt.Sprintf("%.100s", text) }

// signed returns the signed bytes of a message.
func (m *message) signed() []byte {
	fields := [][2]string{{"Message", m.Message}, {"MessageId", m.MessageID}}
	if m.Type == typeNotification {
		if m.Subject != nil {
			fields = append(fields, [2]string{"Subject", *m.Subject})
		}
	} else {
		fields = append(fields, [2]string{"SubscribeURL", m.SubscribeURL})
	}
	fields = append(fields, [2]string{"Timestamp", m.Timestamp})
	if m.Type != typeNotification {
		fields = append(fields, [2]string{"Token", m.Token})
	}
	fields = append(fields, [2]string{"TopicArn", m.TopicARN}, [2]string{"Type", m.Type})
	var b strings.Builder
	for _, f := range fields {
		b.WriteString(f[0] + "\n" + f[1] + "\n")
	}
	return []byte(b.String())
}

func (s *SNS) verify(ctx context.Context, m *message) error {
	signature, err := base64.StdEncoding.DecodeString(m.Signature)
	if err != nil {
		return fmt.Errorf("%w: Signature must be base64", ErrSignature)
	}
	c, err := s.certificate(ctx, m)
	if err != nil {
		return err
	}
	if now := s.Now(); now.Before(c.from) || now.After(c.to) {
		return fmt.Errorf("%w: its certificate is not valid now", ErrSignature)
	}
	switch m.SignatureVersion {
	case "1":
		sum := sha1.Sum(m.signed()) // see the import
		err = rsa.VerifyPKCS1v15(c.key, crypto.SHA1, sum[:], signature)
	case "2":
		sum := sha256.Sum256(m.signed())
		err = rsa.VerifyPKCS1v15(c.key, crypto.SHA256, sum[:], signature)
	default:
		return fmt.Errorf("%w: SignatureVersion must be 1 or 2, it is %q", ErrSignature, cut(m.SignatureVersion))
	}
	if err != nil {
		return fmt.Errorf("%w: it does not match the message", ErrSignature)
	}
	return nil
}

// amazon checks that a URL is one of SNS in the region of the topic.
func (m *message) amazon(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.User != nil {
		return nil, fmt.Errorf("%w: %q is not a URL of SNS", ErrSignature, cut(text))
	}
	match := hostPattern.FindStringSubmatch(u.Host)
	arn := strings.Split(m.TopicARN, ":")
	if match == nil || len(arn) < 4 || match[1] != arn[3] {
		return nil, fmt.Errorf("%w: %q is not the host of SNS in the region of the topic", ErrSignature, cut(u.Host))
	}
	return u, nil
}

// certificate returns the certificate of a message. Its host, over TLS, and its name prove that it belongs to SNS.
func (s *SNS) certificate(ctx context.Context, m *message) (certificate, error) {
	u, err := m.amazon(m.SigningCertURL)
	if err != nil {
		return certificate{}, err
	}
	if !pemPattern.MatchString(u.Path) || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return certificate{}, fmt.Errorf("%w: SigningCertURL is not a certificate of SNS", ErrSignature)
	}
	key := u.Host + u.Path
	s.mu.Lock()
	c, ok := s.certs[key]
	s.mu.Unlock()
	if ok && s.Now().Sub(c.read) < keepCertificate {
		return c, nil
	}
	c, _, err = s.reading.Do(ctx, key, func(ctx context.Context) (certificate, error) { return s.readCertificate(ctx, u, key) })
	return c, err
}

// readCertificate fetches a certificate and caches it. Messages with ever new URLs do not cause a request each.
func (s *SNS) readCertificate(ctx context.Context, u *url.URL, key string) (certificate, error) {
	if !s.mayRead() {
		return certificate{}, fmt.Errorf("reading the certificate of SNS: more than %d were read within a minute", maxReads)
	}
	data, err := s.get(ctx, u)
	if err != nil {
		return certificate{}, fmt.Errorf("reading the certificate of SNS: %w", err)
	}
	c, err := parseCertificate(data, u.Host)
	if err != nil {
		return certificate{}, fmt.Errorf("%w: %w", ErrSignature, err)
	}
	c.read = s.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.certs == nil || len(s.certs) >= maxCertificates {
		s.certs = map[string]certificate{}
	}
	s.certs[key] = c
	return c, nil
}

func (s *SNS) mayRead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Now()
	s.reads = slices.DeleteFunc(s.reads, func(t time.Time) bool { return now.Sub(t) > time.Minute })
	if len(s.reads) >= maxReads {
		return false
	}
	s.reads = append(s.reads, now)
	return true
}

func parseCertificate(data []byte, host string) (certificate, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return certificate{}, errors.New("there is no certificate at SigningCertURL")
	}
	x, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return certificate{}, errors.New("there is no certificate at SigningCertURL")
	}
	names := append(slices.Clone(x.DNSNames), x.Subject.CommonName)
	if !slices.ContainsFunc(names, func(n string) bool { return n == host || strings.TrimSuffix(n, ".cn") == "sns.amazonaws.com" }) {
		return certificate{}, errors.New("the certificate is not one of SNS")
	}
	key, ok := x.PublicKey.(*rsa.PublicKey)
	if !ok {
		return certificate{}, errors.New("the certificate has no RSA key")
	}
	return certificate{key: key, from: x.NotBefore, to: x.NotAfter}, nil
}

// get fetches from SNS. It follows no redirects.
func (s *SNS) get(ctx context.Context, u *url.URL) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	client := *s.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Do(req)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err // without the URL, which may have a token
		}
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxPEM))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answered %s", u.Host, res.Status)
	}
	return data, err
}

// confirm subscribes to the topic of a message.
func (s *SNS) confirm(ctx context.Context, m *message) error {
	u, err := m.amazon(m.SubscribeURL)
	if err != nil {
		return err
	}
	if _, err := s.get(ctx, u); err != nil {
		return fmt.Errorf("confirming the subscription: %w", err)
	}
	return nil
}
