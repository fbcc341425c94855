// The options of the listeners: where they listen, with which certificate, and behind which proxy.
import { adminToken } from './page-options.ts'
import { basePath, listenAddress } from './address-kinds.ts'
import { boolean, readableFile } from './plain-kinds.ts'
import { setting } from './option.ts'

export const listeningOptions = {
  listen: setting(listenAddress, {
    variable: 'PIPESPAN_LISTEN',
    default: '127.0.0.1:8080',
    says: 'Where webhooks and health are served. `[::]:8080` is every address, IPv4 and IPv6.',
    example: '[::]:8080',
  }),
  tls: {
    certFile: setting(readableFile, {
      variable: 'PIPESPAN_TLS_CERT_FILE',
      says: 'PEM file of the certificate chain: with it and its key, `listen` speaks HTTPS.',
    }),
    keyFile: setting(readableFile, {
      variable: 'PIPESPAN_TLS_KEY_FILE',
      says: 'PEM file of the private key of that certificate.',
    }),
  },
  admin: {
    listen: setting(listenAddress, {
      variable: 'PIPESPAN_ADMIN_LISTEN',
      default: '127.0.0.1:8081',
      says: 'Where the pages, their JSON API, health and `/metrics` are served, apart from the webhooks.',
    }),
    token: adminToken,
  },
  basePath: setting(basePath, {
    variable: 'PIPESPAN_BASE_PATH',
    default: '/',
    says: 'The path under which a reverse proxy publishes the daemon.',
    example: '/pipespan',
  }),
  trustProxy: setting(boolean, {
    variable: 'PIPESPAN_TRUST_PROXY',
    default: 'false',
    says: 'Believe the `X-Forwarded-…` headers: only where a reverse proxy sets them.',
  }),
}
