# The server's image: one static binary, no shell, no root.

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/countersign ./cmd/countersign

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/countersign /countersign
USER 65532:65532
ENV COUNTERSIGN_LISTEN=:8080 COUNTERSIGN_WORKER_LISTEN=:8081
EXPOSE 8080 8081
ENTRYPOINT ["/countersign"]
CMD ["--help"]
