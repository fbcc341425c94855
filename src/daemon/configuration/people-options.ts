// The options of people who open the pages behind a proxy that has logged them in.
import { z } from 'zod'
import { projectChoice } from './choice-options.ts'
import { Each, setting } from './option.ts'
import { listOf, patterns } from './list-kinds.ts'
import { oneOf } from './plain-kinds.ts'
import { kind, line } from './kind.ts'

const headerName = kind(
  // Those that a proxy passes on unchanged prove nothing.
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

/** As they are in URLs, without a port. */
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
  trustedHeader: setting(headerName, { protects: true, example: 'X-Auth-Request-Email' }).describe(
    'Header in which a proxy in front of the admin listener says who has logged in. Only believed from `trusted_proxies`; then `people` says what each may do. See docs/people.md.',
  ),
  trustedProxies: setting(networks, { protects: true, example: '10.0.0.0/8' }).describe(
    'Addresses and networks of the proxies whose `trusted_header` is believed.',
  ),
  hosts: setting(hostNames, {
    protects: true,
    unset: 'loopback names for a proxy on this machine, any name for others',
    example: 'pipespan.example.com',
  }).describe(
    'Host names under which people open the pages through the proxy, if it passes them on; loopback names are always accepted. Required for a proxy on this machine that passes on its own name, as any web site can let its name point here.',
  ),
  people: new Each(
    {
      who: setting(patterns, { required: true }).describe(
        'Patterns of the value of the header, such as `*@platform.example.com`.',
      ),
      role: setting(oneOf(['viewer', 'operator']), { required: true }).describe(
        '`viewer` reads; `operator` also retries and drops dead letters, and retries exports now.',
      ),
      projects: projectChoice(' Others do not exist for these people.', { protects: true }),
    },
    'Who may open the pages, by the `trusted_header`: the first entry that matches counts, and who matches none is refused.',
  ),
}
