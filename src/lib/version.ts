// The package's own name and version, read from the package.json beside src and dist.
import { readFileSync } from 'node:fs'

interface Manifest {
  readonly version: string
}

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as Manifest

export const version: string = manifest.version
