// Tests how `pipespan try` finds the platform and the project or group in its arguments.
import { expect, it } from 'vitest'
import { targetOf } from '../../src/commands/try-target.ts'

it.each([
  ['https://git.example.com', 'team/shop', 'https://git.example.com', 'team/shop'],
  ['https://git.example.com/', '/team/shop/', 'https://git.example.com', 'team/shop'],
  ['https://git.example.com/api/v4', '4711', 'https://git.example.com', '4711'],
  [
    'https://git.example.com',
    'https://git.example.com/team/shop/-/pipelines?x=1',
    'https://git.example.com',
    'team/shop',
  ],
  ['https://git.example.com', 'https://git.example.com/team/shop.git', 'https://git.example.com', 'team/shop'],
  ['https://git.example.com/groups/team/sub/-/issues', undefined, 'https://git.example.com', 'team/sub'],
  ['https://example.com/git', 'https://example.com/git/team/shop', 'https://example.com/git', 'team/shop'],
])(
  'finds the platform and the project or group in the arguments %s %s, as a person may type or paste them',
  (url, named, base, name) => {
    expect(targetOf(url, named)).toEqual({ url: base, name })
  },
)
