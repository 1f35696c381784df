# The static binary and certificates, nothing else: no shell, no git. Releases have the same image, made by image/.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY cmd cmd
COPY deploy deploy
COPY examples examples
COPY internal internal
# There is no Git here to take a version from: docker build --build-arg VERSION=v1.2.3
ARG VERSION=""
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w -X main.stamped=$VERSION" -o /argosy ./cmd/argosy

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /argosy /usr/local/bin/argosy
# For argocd-cmp-server, which finds the command of a plugin.yaml by it.
ENV PATH=/usr/local/bin
ARG VERSION=""
ARG REVISION=""
LABEL org.opencontainers.image.title="Argosy"
LABEL org.opencontainers.image.description="Boot an Argo CD cluster in order, from whatever its manifests are stored in"
LABEL org.opencontainers.image.source="https://github.com/argosy-cd/argosy"
LABEL org.opencontainers.image.licenses="Apache-2.0"
LABEL org.opencontainers.image.version="$VERSION"
LABEL org.opencontainers.image.revision="$REVISION"
USER 999:999
ENTRYPOINT ["/usr/local/bin/argosy"]
