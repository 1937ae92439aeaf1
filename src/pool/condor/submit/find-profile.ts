import type { ProfileName } from '../../../job/spec.ts';
import type { CondorTools } from '../tools/condor-tools.ts';
import { condorProfiles, type Profile } from './profiles.ts';

/** The profile the user names, or else the one that this access point's own configuration points to. */
export async function findProfile(named: ProfileName | undefined, tools: CondorTools): Promise<Profile> {
  return condorProfiles[named ?? (await guess(tools))];
}

/** The profile with this access point's own limit on what it sends, where it has one. */
export async function findLimits(named: ProfileName | undefined, tools: CondorTools): Promise<Profile> {
  const profile = await findProfile(named, tools);
  const megabytes = Number(await tools.setting('MAX_TRANSFER_INPUT_MB'));
  return megabytes > 0 ? { ...profile, nativeInputBytes: megabytes * 2 ** 20 } : profile;
}

async function guess(tools: CondorTools): Promise<ProfileName> {
  if (await tools.isMini()) return 'mini';
  const hosts = `${await tools.setting('COLLECTOR_HOST')} ${await tools.setting('FULL_HOSTNAME')}`;
  if (/osg-htc\.org|ospool|opensciencegrid\.org|osgconnect/i.test(hosts)) return 'ospool';
  return /chtc\.wisc\.edu/i.test(hosts) ? 'chtc' : 'htcondor';
}
