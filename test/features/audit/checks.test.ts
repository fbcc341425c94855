// Tests the doctor's check of audit events on the simulated platform.
import { expect, it } from 'vitest'
import { checkAudit } from '../../../src/features/audit/checks.ts'
import { auditCursors } from '../../../src/features/audit/documents.ts'
import { hour } from '../../flow/world.ts'
import { openAuditWorld, type AuditWorld } from './audit-world.ts'
import { restFaults } from '../../support/rest-faults.ts'
import { sqliteBench } from '../../core/store/benches.ts'
import type { Finding } from '../../../src/lib/finding.ts'

const options = { audit: undefined, auditAddress: false, auditLookback: hour }

async function found({ client, store }: AuditWorld, ...audit: string[]): Promise<readonly Finding[]> {
  return checkAudit({ ...options, audit }, { client, store })
}

it('reports audit events that the token may not read, or that the platform does not have', async () => {
  await using world = await openAuditWorld(await sqliteBench())
  world.state.audit.isOwner = false
  world.api.misbehave = ({ path }) =>
    path.startsWith('/groups/brightwater/mobile/') ? restFaults.notFound('Group') : undefined
  expect(await found(world, 'brightwater', 'brightwater/mobile')).toMatchObject([
    {
      check: 'audit',
      level: 'warning',
      what: "The token does not belong to an owner of group brightwater: the platform only returns the events of the token's user.",
      remedy: 'Use a token of an owner, with the scope read_api.',
    },
    { check: 'audit', level: 'failure', what: expect.stringContaining('404 Group Not Found') as string },
  ])
  world.state.audit.isOwner = true
  const project = 'project:brightwater/shop/storefront'
  expect(await found(world, 'brightwater', project)).toMatchObject([
    { level: 'fine', what: 'The token can read the audit events of group brightwater.' },
    { level: 'fine', what: 'The token can read the audit events of project brightwater/shop/storefront.' },
  ])
  world.api.misbehave = ({ path }) => (path.endsWith('/storefront/hooks') ? restFaults.missingRole() : undefined)
  expect(await found(world, project)).toMatchObject([
    {
      level: 'warning',
      what: expect.stringContaining('does not belong to a maintainer of project brightwater/shop/storefront') as string,
    },
  ])
})

it('reports when a source of audit events was last read', async () => {
  await using world = await openAuditWorld(await sqliteBench())
  await world.poller().round()
  expect(await found(world, 'instance')).toHaveLength(1)
  const [cursor] = await world.store.repositories.of(auditCursors).all()
  expect(cursor?.readAt).toBeDefined()
  world.bench.move(5 * hour)
  expect(await found(world, 'instance')).toMatchObject([
    { level: 'fine' },
    { level: 'warning', what: 'The audit events of the instance were last read 5 h ago.' },
  ])
})

it('reports if no audit events are configured, or if a token is missing', async () => {
  expect(await checkAudit(options, { client: undefined, store: undefined })).toMatchObject([{ level: 'skipped' }])
  expect(await checkAudit({ ...options, audit: ['team'] }, { client: undefined, store: undefined })).toMatchObject([
    { level: 'warning', what: 'Audit events cannot be read without a platform token.' },
  ])
})
