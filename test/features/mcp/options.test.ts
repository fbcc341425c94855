// MCP in the configuration.
import { expect, it } from 'vitest'
import { faults } from '../../daemon/configuration/given.ts'

it('is refused without the pages, which it is served beside', () => {
  expect(faults({ PIPESPAN_WEBHOOK_TOKEN: 'x' }, 'mcp: true\npages: { enabled: false }')).toEqual([
    expect.stringContaining(
      'MCP is served beside the pages, which are off. Turn on pages.enabled (PIPESPAN_PAGES), or remove mcp',
    ),
  ])
})
