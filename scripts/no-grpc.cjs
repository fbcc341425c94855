// Instead of gRPC's client, which `@opentelemetry/sdk-node` has among its dependencies: Pipespan gives it exporters by HTTP, so
// nothing of this is ever asked for. Whoever does so all the same learns why it fails. `build.js` puts it there.
module.exports = new Proxy(
  {},
  {
    get(_, name) {
      if (name === '__esModule' || typeof name === 'symbol') return undefined
      throw new Error('OTLP by gRPC is not part of this program. Send OTLP by HTTP.')
    },
  },
)
