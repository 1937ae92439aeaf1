import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pluginEnv } from './plugin-args.ts';

test("variables with the plugin's prefix override those of the machine", () => {
  const env = pluginEnv({ SSL_CERT_FILE: '/machine.pem', UPDRAFT_SSL_CERT_FILE: '/job.pem', HOME: '/h' });
  assert.equal(env['SSL_CERT_FILE'], '/job.pem');
  assert.equal(env['HOME'], '/h');
});

test('a plugin called osdf_plugin is configured by OSDF_ variables', () => {
  const env = pluginEnv({ OSDF_OSDF_HOST: 'f.example', OSDF_STALL_SECONDS: '5' });
  assert.equal(env['UPDRAFT_OSDF_HOST'], 'f.example');
  assert.equal(env['UPDRAFT_STALL_SECONDS'], '5');
});
