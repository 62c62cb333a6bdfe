import type { ServerBuild } from '@portcullis/link/messages/node.ts';

/** Far below what a message may be, with room for all that is not a log. */
const LOG_BUDGET = 6 * 1024 * 1024;

/** Logs of failed builds as long as they fit into one report: the last are left out, the reasons are not. */
export function withinOneMessage(builds: readonly ServerBuild[]): readonly ServerBuild[] {
  let left = LOG_BUDGET;
  return builds.map((build) => {
    left -= build.log === null ? 0 : Buffer.byteLength(JSON.stringify(build.log));
    return left >= 0 ? build : { ...build, log: null };
  });
}
