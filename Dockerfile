# syntax=docker/dockerfile:1
# Builds Pipespan with all its dependencies, and runs it as one bundle, as a user without privileges.

# The base image is pinned by digest, because a tag can be moved to another image. The digest is that of the index of all platforms. "The image" in
# docs/operating.md explains how to renew it.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
# The `prepare` script is not run here, because it needs the sources, which are copied later. A later step builds the bundle.
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY scripts ./scripts
COPY src ./src
# The Node of the base image builds the bundle; the pinned Node for development is not needed here.
RUN node scripts/build.js

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="Pipespan" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.description="Turns every CI/CD pipeline of a GitLab-like platform into OpenTelemetry" \
      org.opencontainers.image.licenses="Apache-2.0"
# With two malloc arenas, instead of one for each thread, the daemon uses 20 to 35 MiB less memory under load (decision 65).
ENV NODE_ENV=production \
    MALLOC_ARENA_MAX=2 \
    PIPESPAN_LISTEN=[::]:8080 \
    PIPESPAN_ADMIN_LISTEN=127.0.0.1:8081 \
    PIPESPAN_STORE_URL=sqlite:/data/pipespan.db
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/dist ./dist
COPY config ./config
COPY LICENSE README.md ./
# Makes `pipespan` available as a command, for shells in the container and for the scripts of CI jobs.
RUN ln -s /app/dist/main.js /usr/local/bin/pipespan
# Only /data needs to be writable.
RUN mkdir -m 0700 /data && chown 65532:65532 /data
VOLUME /data
USER 65532:65532
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PIPESPAN_ADMIN_LISTEN.split(':').pop() + '/readyz').then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/dist/main.js"]
CMD ["serve"]
