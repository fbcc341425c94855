// Tests which API token is used for which project.
import { describe, expect, it } from 'vitest'
import { isWithin, territoriesOf } from '../../src/model/territory.ts'

const instance = 'https://git.example.com'

describe('the API token for a project', () => {
  const tokens = { rest: [], team: ['team', 'team/sub/deep'], sub: ['team/sub'] }
  const territories = territoriesOf(instance, Object.values(tokens))
  const tokensFor = (path: string | undefined, of = instance): string[] =>
    Object.keys(tokens).filter((_, index) => isWithin(territories[index]!, of, path))

  it.each([
    ['of no group', 'other/app', ['rest']],
    ['of a group with a similar name', 'teams/app', ['rest']],
    ['without a known path', undefined, ['rest']],
    ['of a group', 'team/app', ['team']],
    ['of a group that is written otherwise', 'Team/app', ['team']],
    ['of a subgroup with a token of its own', 'team/sub/app', ['sub']],
    ['of a group below that, which the other token is for again', 'team/sub/deep/x/app', ['team']],
  ])('uses exactly one API token for a project %s: the token of the longest matching group', (_, path, expected) => {
    expect(tokensFor(path)).toEqual(expected)
  })

  it('uses no API token for a project on another instance', () => {
    expect(tokensFor('team/app', 'https://other.example.com')).toEqual([])
  })
})
