// The options of people who open the pages behind a proxy that has logged them in.
import { isIP } from 'node:net'
import { projectChoice } from './choice-options.ts'
import { Each, setting } from './option.ts'
import { listOf, patterns } from './list-kinds.ts'
import { oneOf } from './plain-kinds.ts'
import { quoted } from './config-fault.ts'
import { scalar, wrong, type Kind } from './kind.ts'

const headerName: Kind<string> = scalar({
  noun: 'the name of a header',
  remedy: 'Write the name of the header that your proxy sets, such as X-Auth-Request-Email.',
  // Those that a proxy passes on unchanged prove nothing.
  read: given =>
    /^[a-z][a-z\d-]*$/i.test(given) && !/^(?:authorization|cookie|host|user-agent)$/i.test(given)
      ? given.toLowerCase()
      : undefined,
})

const networks: Kind<readonly string[]> = listOf({
  noun: 'a list of addresses and networks',
  read: items => {
    const bad = items.find(item => !isNetwork(item))
    if (bad === undefined) return { value: items }
    return wrong(`${quoted(bad)} is no address or network.`, 'Write it as 10.0.0.7, 10.0.0.0/8 or fd00::/8.')
  },
})

/** As they are in URLs, without a port. */
const hostNames: Kind<readonly string[]> = listOf({
  noun: 'a list of host names',
  read: items => {
    const bad = items.find(item => URL.parse(`http://${item}/`)?.hostname !== item.toLowerCase())
    if (bad === undefined) return { value: items.map(item => item.toLowerCase()) }
    return wrong(`${quoted(bad)} is no host name.`, 'Write it without scheme and port, such as pipespan.example.com.')
  },
})

function isNetwork(item: string): boolean {
  const [address = '', bits, ...more] = item.split('/')
  const version = isIP(address)
  if (version === 0 || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
}

export const peopleOptions = {
  trustedHeader: setting(headerName, {
    variable: 'PIPESPAN_ADMIN_TRUSTED_HEADER',
    protects: true,
    description:
      'Header in which a proxy in front of the admin listener says who has logged in. Only believed from `trusted_proxies`; then `people` says what each may do. See docs/people.md.',
    example: 'X-Auth-Request-Email',
  }),
  trustedProxies: setting(networks, {
    variable: 'PIPESPAN_ADMIN_TRUSTED_PROXIES',
    protects: true,
    description: 'Addresses and networks of the proxies whose `trusted_header` is believed.',
    example: '10.0.0.0/8',
  }),
  hosts: setting(hostNames, {
    variable: 'PIPESPAN_ADMIN_HOSTS',
    protects: true,
    unset: 'loopback names for a proxy on this machine, any name for others',
    description:
      'Host names under which people open the pages through the proxy, if it passes them on; loopback names are always accepted. Required for a proxy on this machine that passes on its own name, as any web site can let its name point here.',
    example: 'pipespan.example.com',
  }),
  people: new Each(
    {
      who: setting(patterns, {
        required: true,
        description: 'Patterns of the value of the header, such as `*@platform.example.com`.',
      }),
      role: setting(oneOf(['viewer', 'operator']), {
        required: true,
        description: '`viewer` reads; `operator` also retries and drops dead letters, and retries exports now.',
      }),
      projects: projectChoice(' Others do not exist for these people.', { protects: true }),
    },
    'Who may open the pages, by the `trusted_header`: the first entry that matches counts, and who matches none is refused.',
  ),
}
