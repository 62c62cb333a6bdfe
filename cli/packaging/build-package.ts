import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { bundledPackages, installedPackages, LICENCE, renderCopyright } from './copyright.ts';

/**
 * `npm run package [FOLDER]`: a tarball and a .deb with everything that runs, Node.js and PostgreSQL included, for the
 * architecture of this host. They install without npm. The portal must be built (`npm run build`).
 */
const ROOT = join(import.meta.dirname, '..', '..');
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly description: string;
  readonly workspaces: readonly string[];
  readonly devDependencies: object;
  readonly scripts: object;
};
const [folder = join(ROOT, 'dist')] = process.argv.slice(2);
const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = {
  x64: 'amd64',
  arm64: 'arm64',
};
const architecture = ARCHITECTURES[process.arch];
const NAME = `portcullis_${manifest.version}_${architecture}`;
/** Not needed to run: tests, what tests use, and what the portal was built of. */
const LEFT_OUT =
  /^(?:(?:lab|bench|portal|deploy|cli\/packaging|\.[^/]+)\/|\.git)|(?:\.test\.tsx?|(?:^|\/)testing\/.*)$/;
/** Parts of packages: their tests and pages, and settings of tools. */
const NOT_RUN = [
  '**/node_modules/*/{test,tests,benchmarks,benchmark,integration,examples,scripts}',
  '{*,@*/*}/{test,tests,benchmarks,benchmark,integration,examples,scripts}',
  '**/{.eslintrc*,.npmignore,.gitattributes,.gitmodules,.gitignore,eslint.config.*,*.html,*.md}',
];
const WORKSPACES = manifest.workspaces.filter((name) => name !== 'lab' && name !== 'portal');

if (architecture === undefined) throw new Error(`there is no package for ${process.arch}`);
if (!existsSync(join(ROOT, 'portal', 'dist')))
  throw new Error('build the portal first: npm run build');
const staging = mkdtempSync(join(tmpdir(), 'portcullis-package-'));
try {
  const place = join(staging, 'usr', 'lib', 'portcullis');
  fill(place);
  mkdirSync(folder, { recursive: true });
  run('tar', '-czf', join(folder, `${NAME}.tar.gz`), '-C', dirname(place), 'portcullis');
  writeControl(join(staging, 'DEBIAN'), place);
  mkdirSync(join(staging, 'usr', 'bin'), { recursive: true });
  symlinkSync('../lib/portcullis/portcullis', join(staging, 'usr', 'bin', 'portcullis'));
  writeDocumentation(join(staging, 'usr', 'share'), place);
  run(
    'dpkg-deb',
    '-Zxz',
    '-z1',
    '--build',
    '--root-owner-group',
    staging,
    join(folder, `${NAME}.deb`),
  );
  console.log(`${join(folder, NAME)}.tar.gz and .deb`);
} finally {
  rmSync(staging, { recursive: true, force: true });
}

function fill(place: string): void {
  const files = run('git', '-C', ROOT, 'ls-files', '-z').split('\0');
  for (const file of files) {
    if (file === '' || LEFT_OUT.test(file) || !existsSync(join(ROOT, file))) continue;
    mkdirSync(dirname(join(place, file)), { recursive: true });
    cpSync(join(ROOT, file), join(place, file));
  }
  cpSync(join(ROOT, 'portal', 'dist'), join(place, 'portal', 'dist'), { recursive: true });
  const { devDependencies: _, scripts: __, ...kept } = manifest;
  const own = { ...kept, workspaces: WORKSPACES };
  writeFileSync(join(place, 'package.json'), `${JSON.stringify(own, null, 2)}\n`);
  run('cp', '-a', join(ROOT, 'node_modules'), place);
  rmSync(join(place, 'package-lock.json'), { force: true });
  // Removes what only development, the portal and the lab need; it is offline.
  run('npm', 'prune', '--omit=dev', '--offline', '--no-audit', '--no-fund', '--prefix', place);
  rmSync(join(place, 'package-lock.json'), { force: true });
  const modules = join(place, 'node_modules');
  for (const name of globSync(NOT_RUN, { cwd: modules })) {
    if (!LICENCE.test(name)) rmSync(join(modules, name), { recursive: true, force: true });
  }
  run('chmod', '-R', 'u=rwX,go=rX,a-s', place);
  run('find', modules, '-type', 'f', '!', '-path', '*/bin/*', '-exec', 'chmod', 'a-x', '{}', '+');
}

/** Documentation that lintian asks for, and why it may find what others have built. */
function writeDocumentation(share: string, place: string): void {
  const write = (path: string, text: string | Buffer): void => {
    mkdirSync(dirname(join(share, path)), { recursive: true });
    writeFileSync(join(share, path), text);
  };
  const modules = join(ROOT, 'node_modules');
  write(
    'doc/portcullis/copyright',
    renderCopyright(
      installedPackages(join(place, 'node_modules')),
      bundledPackages(modules, join(ROOT, 'portal')),
      (file) => readFileSync(join(modules, file), 'utf8'),
    ),
  );
  const { version } = manifest;
  const when = run('git', '-C', ROOT, 'log', '-1', '--format=%cD').trim();
  const entry = `portcullis (${version}) unstable; urgency=medium\n\n  * See docs/ of this release.\n\n -- The Portcullis authors <maintainers@portcullis.invalid>  ${when}\n`;
  write('doc/portcullis/changelog.gz', gzipSync(entry, { level: 9 }));
  const page = `.TH PORTCULLIS 1\n.SH NAME\nportcullis \\- ${manifest.description}\n.SH DESCRIPTION\nRun\n.B portcullis --help\nfor its commands, each with examples.\n`;
  write('man/man1/portcullis.1.gz', gzipSync(page, { level: 9 }));
  write('lintian/overrides/portcullis', readFileSync(join(import.meta.dirname, 'overrides')));
}

function writeControl(control: string, place: string): void {
  mkdirSync(control);
  const kib = run('du', '-sk', place).split('\t')[0];
  writeFileSync(
    join(control, 'control'),
    `Package: portcullis
Version: ${manifest.version}
Architecture: ${architecture}
Maintainer: The Portcullis authors <maintainers@portcullis.invalid>
Installed-Size: ${kib}
Depends: libc6, libnftables1, nftables, iproute2, adduser
Recommends: docker.io, nats-server, chrony
Suggests: npm
Section: net
Priority: optional
Description: ${manifest.description}
 Firewall on the addresses that organisations hold, enforced by Linux edges;
 game servers in Docker; attacks that are detected, mitigated and recorded.
`,
  );
  for (const name of ['postinst', 'prerm', 'postrm']) {
    const script = readFileSync(join(import.meta.dirname, name), 'utf8');
    writeFileSync(join(control, name), script);
    chmodSync(join(control, name), 0o755);
  }
}

function run(command: string, ...args: readonly string[]): string {
  return execFileSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 26 });
}
