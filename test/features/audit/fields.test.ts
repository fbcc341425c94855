// Tests which fields of an audit event are exported, and under which names.
import { describe, expect, it } from 'vitest'
import { minute, t0 } from '../../flow/world.ts'
import { openAuditWorld } from './audit-world.ts'
import { restJson } from '../../support/rest-faults.ts'
import { sqliteBench } from '../../core/store/benches.ts'

describe('audit event fields', () => {
  it.each(['id', 'author_id', 'entity_id', 'entity_type', 'details', 'created_at'])(
    'exports an audit event that lacks the field %s, or logs the name of the field',
    async field => {
      await using world = await openAuditWorld(await sqliteBench())
      world.happen(t0 - minute)
      world.api.misbehave = (_, real) => {
        const events = JSON.parse(String(real().body)) as object[]
        return restJson(events.map(one => Object.fromEntries(Object.entries(one).filter(([name]) => name !== field))))
      }
      await world.poller().round()
      const isExported = (await world.chunks()).length === 1
      expect(isExported).toBe(field !== 'id' && field !== 'created_at')
      if (!isExported) expect(JSON.stringify(world.logged)).toContain(`no usable ${field}`)
    },
  )

  it('exports an audit event as a log record of its project with the documented names, and without email address, IP address or secret', async () => {
    await using world = await openAuditWorld(await sqliteBench())
    const target = { target_type: 'Project', target_id: 301, target_details: 'Storefront of amina@brightwater.example' }
    world.happen(t0 - minute, { details: { change: 'token', from: 'glpat-abcdefghij0123456789', to: true, ...target } })
    world.happen(t0 - 2 * minute, {
      entity: { type: 'Group', id: 7, path: 'brightwater' },
      details: { custom_message: 'Invited jonas@brightwater.example\nas owner' },
      eventType: 'member_invited',
    })
    world.happen(t0 - 3 * minute, {
      entity: { type: 'User', id: 12, path: 'jonas' },
      details: { add: 'key', author_class: 'DeployToken', target_id: 'glpat-abcdefghij0123456789', from: null },
    })
    await world.poller().round()
    const [project, group, user] = (await world.chunks()).sort((a, b) => b.at - a.at)
    expect(project).toMatchObject({ at: t0 - minute, project: { id: 301, path: 'brightwater/shop/storefront' } })
    expect(project?.event).toEqual({
      kind: 'audit',
      name: 'platform.audit',
      severity: 'info',
      body: 'Changed token from [REDACTED] to true',
      attributes: {
        'platform.audit.id': '70001',
        'platform.audit.type': 'project.change',
        'platform.audit.entity.type': 'Project',
        'platform.audit.entity.id': '301',
        'platform.audit.entity.path': 'brightwater/shop/storefront',
        'platform.audit.target.type': 'Project',
        'platform.audit.target.id': '301',
        'platform.audit.target.details': 'Storefront of [REDACTED]',
        'platform.audit.change': 'token',
        'platform.audit.from': '[REDACTED]',
        'platform.audit.to': 'true',
        'platform.audit.author.class': 'User',
        'user.id': '11',
        'user.name': 'Amina Okafor',
      },
    })
    expect(group).toMatchObject({ group: 'brightwater', event: { body: 'Invited [REDACTED] as owner' } })
    expect(group?.event.attributes).toMatchObject({
      'platform.audit.type': 'member_invited',
      'platform.audit.entity.id': '7',
    })
    expect(user?.event.attributes).toMatchObject({
      'platform.audit.entity.type': 'User',
      'platform.audit.entity.id': '12',
      'platform.audit.target.id': '[REDACTED]',
      'platform.audit.author.class': 'DeployToken',
    })
    expect(user?.event.attributes).not.toHaveProperty('platform.audit.from')
  })
})
