// The options of the two listeners: addresses, certificate, reverse proxy.
import { certificateFile, keyFile } from './file-kinds.ts'
import { adminToken } from './page-options.ts'
import { peopleOptions } from './people-options.ts'
import { basePath, listenAddress } from './address-kinds.ts'
import { boolean } from './plain-kinds.ts'
import { setting } from './option.ts'

export const listeningOptions = {
  listen: setting(listenAddress, {
    variable: 'PIPESPAN_LISTEN',
    restart: true,
    default: '127.0.0.1:8080',
    description: 'Address for webhooks and health checks. `[::]:8080` listens on all addresses, IPv4 and IPv6.',
    example: '[::]:8080',
  }),
  tls: {
    certFile: setting(certificateFile, {
      variable: 'PIPESPAN_TLS_CERT_FILE',
      restart: 'presence',
      description: 'PEM file of the certificate chain; with its key, `listen` serves HTTPS.',
    }),
    keyFile: setting(keyFile, {
      variable: 'PIPESPAN_TLS_KEY_FILE',
      restart: 'presence',
      description: "PEM file of the certificate's private key.",
    }),
  },
  admin: {
    listen: setting(listenAddress, {
      variable: 'PIPESPAN_ADMIN_LISTEN',
      default: '127.0.0.1:8081',
      description: 'Address for the pages, their JSON API, health checks and `/metrics`.',
    }),
    token: adminToken,
    ...peopleOptions,
  },
  basePath: setting(basePath, {
    variable: 'PIPESPAN_BASE_PATH',
    restart: true,
    default: '/',
    description: 'Base path under which a reverse proxy publishes the daemon.',
    example: '/pipespan',
  }),
  trustProxy: setting(boolean, {
    variable: 'PIPESPAN_TRUST_PROXY',
    restart: true,
    default: 'false',
    description: 'Trust `X-Forwarded-…` headers; only behind a reverse proxy that sets them.',
  }),
}
