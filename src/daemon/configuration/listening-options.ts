// The options for the two listeners and the pages: addresses, certificate, reverse proxy, who may open the pages, and what they show.
import { z } from 'zod'
import { projectChoice, projectPatterns } from './project-kinds.ts'
import { Each, setting, secretSetting } from './option.ts'
import { listOf, patterns } from './list-kinds.ts'
import { oneOf, boolean, text } from './plain-kinds.ts'
import { kind, line, scalar } from './kind.ts'
import { secretOf, certificateFile, keyFile } from './secret-kinds.ts'
import { basePath, listenAddress } from './address-kinds.ts'

const headerName = kind(
  // The trusted header must be one that the proxy itself sets. If the proxy merely passes on the client's header, the header proves nothing.
  line
    .regex(/^[A-Za-z][A-Za-z0-9-]*$/)
    .toLowerCase()
    .refine(name => !['authorization', 'cookie', 'host', 'user-agent'].includes(name)),
  {
    noun: 'the name of a header',
    remedy: 'Write the name of the header that your proxy sets, such as X-Auth-Request-Email.',
  },
)

const networks = listOf(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]), {
  noun: 'a list of addresses and networks',
  ...{ item: 'an address or a network', remedy: 'Write it as 10.0.0.7, 10.0.0.0/8 or fd00::/8.' },
})

/** Host names as they appear in URLs, without a port. */
const hostNames = listOf(
  z
    .string()
    .toLowerCase()
    .refine(name => URL.parse(`http://${name}/`)?.hostname === name),
  {
    noun: 'a list of host names',
    ...{ item: 'a host name', remedy: 'Write it without scheme and port, such as pipespan.example.com.' },
  },
)

export const peopleOptions = {
  trustedHeader: setting(headerName, {
    protects: true,
    example: 'X-Auth-Request-Email',
    needs: {
      'admin.trusted_proxies':
        'A header with the logged-in user is configured, but no proxy is trusted to set it, so anybody could.',
    },
  }).describe(
    'Header in which a proxy in front of the admin listener names the logged-in user. Only accepted from `trusted_proxies`; `people` then sets what each user may do. See docs/people.md.',
  ),
  trustedProxies: setting(networks, {
    protects: true,
    example: '10.0.0.0/8',
    needs: { 'admin.trusted_header': 'Proxies are trusted, but no header with the logged-in user is configured.' },
  }).describe('Addresses and networks of the proxies from which `trusted_header` is accepted.'),
  hosts: setting(hostNames, {
    protects: true,
    unset: 'loopback names for a proxy on this machine, any name for others',
    example: 'pipespan.example.com',
  }).describe(
    'Host names under which people open the pages, if the proxy passes them on; loopback names are always accepted. Required if a proxy on this machine passes on its own host name, because any web site can point its name at this address (DNS rebinding).',
  ),
  people: new Each(
    {
      who: setting(patterns, { required: true }).describe(
        "Patterns of the header's value, such as `*@platform.example.com`.",
      ),
      role: setting(oneOf(['viewer', 'operator']), { required: true }).describe(
        '`viewer` can only read; `operator` can also retry and drop dead letters, and retry postponed exports.',
      ),
      projects: projectChoice(' Other projects are hidden from these people.', { protects: true }),
    },
    'Who may open the pages, by the value of `trusted_header`. The first matching entry applies; users without a matching entry are refused.',
  ),
}

/** The minimum length of the admin token. A shorter token could be guessed. */
const minAdminTokenLength = 16

const adminTokenKind = secretOf('an admin token', value => {
  if (value.length >= minAdminTokenLength) return undefined
  const remedy = `Use at least ${minAdminTokenLength} random characters, for instance from \`openssl rand -hex 24\`.`
  return { what: 'The admin token is too short.', remedy }
})

export const adminToken = secretSetting(adminTokenKind, { protects: true }).describe(
  'Token for the pages (log in with it, or send it as a bearer token) and `/metrics`: at least 16 characters. ' +
    'Required unless the admin listener is on loopback.',
)

const traceLinkKind = scalar<string>({
  noun: 'a link to a trace',
  remedy: 'Write an http(s) URL that contains {traceId}, such as https://tempo.example.com/trace/{traceId}.',
  read: given => {
    const url = URL.parse(given.replaceAll('{traceId}', '0'))
    const isWeb = url !== null && (url.protocol === 'https:' || url.protocol === 'http:')
    return isWeb && given.includes('{traceId}') ? given : undefined
  },
})

export const traceLink = setting(traceLinkKind, { example: 'https://tempo.example.com/trace/{traceId}' }).describe(
  'Trace URL of your backend, linked from the page of a pipeline. `{traceId}` is replaced by the ID.',
)

export const pageOptions = {
  enabled: setting(boolean, { variable: 'PIPESPAN_PAGES', default: 'true' }).describe(
    'Serve the pages and their JSON API. With `false`, for instance in a sidecar, the daemon neither loads nor computes what only the pages show; health checks, `/metrics` and `pipespan doctor` still work.',
  ),
  groupBy: setting(text, { example: 'team' }).describe(
    'Name of one of your attributes (`attributes.rules`) by which the pages group figures and filter projects (`own=VALUE`). Only literal values count, and only from rules that depend on nothing but the project and the class of branches.',
  ),
  hide: setting(projectPatterns, { protects: 'each', example: 'secret/**' }).describe(
    'Projects hidden from the pages, their JSON API, `/mcp` and `/metrics`; they are still exported.',
  ),
}

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
