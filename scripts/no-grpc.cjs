// A stub that `build.js` bundles in place of the gRPC client, on which `@opentelemetry/sdk-node` depends. Pipespan only exports over HTTP, so the stub
// is never used. Code that uses it nevertheless gets an error that explains why.
module.exports = new Proxy(
  {},
  {
    get(_, name) {
      if (name === '__esModule' || typeof name === 'symbol') return undefined
      throw new Error('This program does not support OTLP over gRPC. Use OTLP over HTTP.')
    },
  },
)
