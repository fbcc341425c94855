// The bundle's bill of materials, in CycloneDX 1.6. It lists every package that has code in the bundle, with its checksum from the lock file. Its
// content does not depend on the time or machine of the build.

/**
 * Returns the bill of materials. `packages` is the result of `packagesOf`. `lock` and `manifest` are the contents of package-lock.json and
 * package.json.
 */
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
  // The @ of a scope is percent-encoded: https://github.com/package-url/purl-spec
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  return { 'bom-ref': purl, name, version, purl }
}

function licensesOf({ license }) {
  return license === undefined ? [] : [/[ ()]/.test(license) ? { expression: license } : { license: { id: license } }]
}

/** Returns the checksums of a package. The result is empty for a package that is installed but not in the lock file. */
function hashesOf({ name, version }, { packages }) {
  const [, locked] =
    Object.entries(packages).find(
      ([place, one]) =>
        place.endsWith(`node_modules/${name}`) && one.version === version && one.integrity !== undefined,
    ) ?? []
  const sum = /^sha512-(\S+)$/.exec(locked?.integrity ?? '')?.[1]
  return sum === undefined ? {} : { hashes: [{ alg: 'SHA-512', content: Buffer.from(sum, 'base64').toString('hex') }] }
}
