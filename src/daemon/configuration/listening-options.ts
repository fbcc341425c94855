// The options of the two listeners: addresses, certificate, reverse proxy.
import { certificateFile, keyFile } from './file-kinds.ts'
import { adminToken } from './page-options.ts'
import { peopleOptions } from './people-options.ts'
import { basePath, listenAddress } from './address-kinds.ts'
import { boolean } from './plain-kinds.ts'
import { setting } from './option.ts'

export const listeningOptions = {
  listen: setting(listenAddress, { restart: true, default: '127.0.0.1:8080', example: '[::]:8080' }).describe(
    'Address for webhooks and health checks. `[::]:8080` listens on all addresses, IPv4 and IPv6.',
  ),
  tls: {
    certFile: setting(certificateFile, { restart: 'presence' }).describe(
      'PEM file of the certificate chain; with its key, `listen` serves HTTPS.',
    ),
    keyFile: setting(keyFile, { restart: 'presence' }).describe("PEM file of the certificate's private key."),
  },
  admin: {
    listen: setting(listenAddress, { default: '127.0.0.1:8081' }).describe(
      'Address for the pages, their JSON API, health checks and `/metrics`.',
    ),
    token: adminToken,
    ...peopleOptions,
  },
  basePath: setting(basePath, { restart: true, default: '/', example: '/pipespan' }).describe(
    'Base path under which a reverse proxy publishes the daemon.',
  ),
  trustProxy: setting(boolean, { restart: true, default: 'false' }).describe(
    'Trust `X-Forwarded-…` headers; only behind a reverse proxy that sets them.',
  ),
}
