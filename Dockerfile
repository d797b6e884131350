# The server's image: one static binary, no shell, no root.

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/countersign ./cmd/countersign
# Where the keys lie, the lineage key apart for the API has no use for the other; a volume mounted here
# begins as the directory is, the user's own.
RUN mkdir -p -m 0700 /out/var/lib/countersign /out/var/lib/countersign-lineage

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/countersign /countersign
COPY --from=build --chown=65532:65532 /out/var /var
USER 65532:65532
ENV COUNTERSIGN_LISTEN=:8080 COUNTERSIGN_WORKER_LISTEN=:8081 COUNTERSIGN_SIGNING_KEY=/var/lib/countersign/signing-key.pem COUNTERSIGN_LINEAGE_KEY=/var/lib/countersign-lineage/lineage-key.pem
EXPOSE 8080 8081
ENTRYPOINT ["/countersign"]
CMD ["--help"]
