// The bill of materials of the bundle, CycloneDX 1.6: every package that it holds code of, with the check sum that the lock file has.
// Nothing in it depends on when or where it was made.

/** `packages` as `packagesOf` answers them; `lock` and `manifest`: package-lock.json and package.json. */
export function sbomOf(packages, lock, manifest) {
  const own = { type: 'application', ...identity(manifest), licenses: licensesOf(manifest) }
  const components = packages.map(one => ({
    type: 'library',
    ...identity(one),
    scope: 'required',
    ...hashesOf(one, lock),
    licenses: licensesOf(one),
  }))
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: own },
    components,
    dependencies: [
      { ref: own['bom-ref'], dependsOn: components.map(one => one['bom-ref']) },
      ...components.map(one => ({ ref: one['bom-ref'] })),
    ],
  }
}

function identity({ name, version }) {
  // https://github.com/package-url/purl-spec: the @ of a scope is percent-encoded.
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  return { 'bom-ref': purl, name, version, purl }
}

function licensesOf({ license }) {
  return license === undefined ? [] : [/[ ()]/.test(license) ? { expression: license } : { license: { id: license } }]
}

/** None for what is installed but not in the lock file. */
function hashesOf({ name, version }, { packages }) {
  const [, locked] =
    Object.entries(packages).find(
      ([place, one]) =>
        place.endsWith(`node_modules/${name}`) && one.version === version && one.integrity !== undefined,
    ) ?? []
  const sum = /^sha512-(\S+)$/.exec(locked?.integrity ?? '')?.[1]
  return sum === undefined ? {} : { hashes: [{ alg: 'SHA-512', content: Buffer.from(sum, 'base64').toString('hex') }] }
}
