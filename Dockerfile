# The static binary and certificates, nothing else: no shell, no git.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY cmd cmd
COPY deploy deploy
COPY examples examples
COPY internal internal
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /argosy ./cmd/argosy

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /argosy /usr/local/bin/argosy
# For argocd-cmp-server, which finds the command of a plugin.yaml by it.
ENV PATH=/usr/local/bin
USER 999:999
ENTRYPOINT ["/usr/local/bin/argosy"]
