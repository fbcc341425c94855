// A YAML configuration as a pod would mount it, read by the daemon's own loader.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { loadConfig } from '../../src/config/load.ts'
import { profiles } from '../../src/platform/profile.ts'

/** With the settings that the Dockerfile and the manifests add as variables. */
export function parseConfig(yaml: string): ReturnType<typeof loadConfig> {
  const folder = mkdtempSync(path.join(tmpdir(), 'pipespan-config-'))
  try {
    writeFileSync(path.join(folder, 'pipespan.yaml'), yaml)
    writeFileSync(path.join(folder, 'webhook-token'), 'a-token-for-this-test\n')
    const env = {
      PIPESPAN_CONFIG: path.join(folder, 'pipespan.yaml'),
      PIPESPAN_LISTEN: '[::]:8080',
      PIPESPAN_ADMIN_LISTEN: '127.0.0.1:8081',
      PIPESPAN_WEBHOOK_TOKEN_FILE: path.join(folder, 'webhook-token'),
    }
    return loadConfig({ env, file: undefined, profiles })
  } finally {
    rmSync(folder, { recursive: true })
  }
}
