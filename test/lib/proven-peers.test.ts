// Who has shown the secret before: the connection, and the network it came from.
import { expect, test } from 'vitest'
import { createProvenPeers, networkOf } from '../../src/lib/proven-peers.ts'

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0db8:0001:0002::9', '2001:db8:1:2::/64'],
  ['2001:db8::9', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['64:ff9b::192.0.2.7', '64:ff9b:0:0::/64'],
])('%s counts as %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

test('remembers a connection, its address and the address that its proxy names, and no others', () => {
  const peers = createProvenPeers()
  const connection = { remoteAddress: '10.0.0.1' }
  let reported = 0
  peers.onProved(() => (reported += 1))
  expect(peers.knows(connection, '10.0.0.1')).toBe(false)
  peers.proved(connection, '198.51.100.1')
  peers.proved(connection, '198.51.100.1')
  peers.proved(connection, '198.51.100.2')
  expect(reported).toBe(1)
  for (const address of ['10.0.0.1', '198.51.100.1', '198.51.100.2']) expect(peers.knows({}, address)).toBe(true)
  expect(peers.knows(connection, '203.0.113.1')).toBe(true)
  expect(peers.knows({}, '203.0.113.1')).toBe(false)
  expect(peers.knows({}, undefined)).toBe(false)
})

test('remembers the latest of many addresses', () => {
  const peers = createProvenPeers()
  const at = (n: number): string => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`
  for (let n = 0; n < 5_000; n += 1) peers.proved({}, at(n))
  expect(peers.knows({}, at(4_999))).toBe(true)
  expect(peers.knows({}, at(904))).toBe(true)
  expect(peers.knows({}, at(903))).toBe(false)
})
