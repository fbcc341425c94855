// The name and version of Pipespan, read from the package.json next to src and dist.
import { readFileSync } from 'node:fs'

interface Manifest {
  readonly version: string
}

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as Manifest

export const version: string = manifest.version
