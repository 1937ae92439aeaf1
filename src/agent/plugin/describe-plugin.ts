/** What HTCondor asks of every plugin it finds: what it can do, in old ClassAd syntax. */
export function describePlugin(version: string): string {
  return [
    'MultipleFileSupport = true',
    'PluginType = "FileTransfer"',
    `PluginVersion = "${version}"`,
    'ProtocolVersion = 2',
    'SupportedMethods = "osdf,pelican,stash"',
    `UpdraftPluginVersion = "${version}"`,
    'StartdAttrs = "UpdraftPluginVersion"',
    '',
  ].join('\n');
}
