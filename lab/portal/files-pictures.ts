import { GAME } from './fleet.ts';
import { ADA, callAs, signInAs } from './people.ts';
import type { Visit } from './browser.ts';

type Take = (name: string) => Promise<unknown>;

const PROPERTIES = `# What players see and how they play.
motd=The fire is lit. Come in.
max-players=20
level-name=world
difficulty=normal
view-distance=10
pvp=true
online-mode=true
`;
const CONFIG = `# What the map shows.
maps:
  - name: overworld
    world: world
    render: { every: 30s, threads: 2 }
  - name: nether
    world: world_nether
    hidden: true
players:
  show: true # on the map
  update-interval: 5
`;
const CONTENTS: Readonly<Record<string, string>> = {
  'server.properties': PROPERTIES,
  'eula.txt': 'eula=true\n',
  'ops.json': '[\n  { "name": "ada", "level": 4 }\n]\n',
  'start.sh': '#!/bin/sh\nexec java -Xmx2G -jar server.jar nogui\n',
  'plugins/BlueMap/core.yml': CONFIG,
  'plugins/bluemap.jar': 'x'.repeat(900_000),
  'plugins/essentials.jar': 'x'.repeat(400_000),
  'world/level.dat': 'x'.repeat(3_000),
  'world/region/r.0.0.mca': 'x'.repeat(2_400_000),
  'world/region/r.0.-1.mca': 'x'.repeat(1_100_000),
  'backups/before-update.zip': 'x'.repeat(300_000),
  'logs/latest.log': Array.from(
    { length: 120 },
    (_, index) => `[12:0${index % 10}:14 INFO]: Player ${index} joined the game\n`,
  ).join(''),
};

/** The tab “Files” of a server, with what is in a usual one. */
export async function takeFiles(visit: Visit, url: string, take: Take): Promise<void> {
  const { page } = visit;
  await page.goto(url);
  await signInAs(page, ADA);
  await page.getByRole('tab', { name: /^Fleet/, selected: true }).waitFor();
  await callAs(visit, `${url}/api/portal/operator/acting`, 'PUT', { organisation: 'acme' });
  const files = `${url}/api/portal/organisations/acme/x1/game-servers/${GAME.uuid}/files`;
  for (const [path, content] of Object.entries(CONTENTS)) {
    await callAs(visit, `${files}/content?path=${encodeURIComponent(path)}`, 'PUT', { content });
  }
  await callAs(visit, files, 'DELETE', { paths: ['backups/before-update.zip', 'eula.txt'] });
  const show = async (place = ''): Promise<void> => {
    await page.goto(`${url}/servers/${GAME.uuid}?tab=files${place}`);
    await page.getByRole('navigation', { name: 'Where you are' }).waitFor();
    await page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' });
  };
  await show();
  await page.getByRole('checkbox', { name: 'Choose ops.json' }).check();
  await page.getByRole('checkbox', { name: 'Choose start.sh' }).check();
  await take('files');
  await page.getByRole('button', { name: 'Menu of start.sh' }).click();
  await page.getByRole('menuitem', { name: 'Copy the path' }).waitFor();
  await take('files-menu');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Move what is chosen' }).click();
  await page.getByRole('dialog').getByText('plugins', { exact: true }).click();
  await page.getByRole('dialog').getByText('BlueMap', { exact: true }).waitFor();
  await take('files-move');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'What takes the disk' }).click();
  await page.getByRole('meter', { name: 'Disk use of world' }).waitFor();
  await take('files-usage');
  await page.getByRole('button', { name: 'Bin', exact: true }).click();
  await page.getByRole('button', { name: 'Restore eula.txt' }).first().waitFor();
  await take('files-bin');
  await page.getByRole('button', { name: 'Search files' }).click();
  await page.getByText('Text', { exact: true }).click();
  await page.getByLabel('A part of a line').fill('world');
  await page.getByText('level-name=world').first().waitFor();
  await take('files-search');
  await show('&file=plugins%2FBlueMap%2Fcore.yml');
  await page.getByText('update-interval').waitFor();
  await take('files-editor');
  await show('&file=logs%2Flatest.log');
  await page.getByRole('log').waitFor();
  await take('files-log');
  await takeConflict(visit, { files, show, take });
}

interface ConflictPicture {
  /** The address of the files of the server. */
  readonly files: string;
  readonly take: Take;
  show(place: string): Promise<void>;
}

async function takeConflict(visit: Visit, { files, show, take }: ConflictPicture): Promise<void> {
  const { page } = visit;
  await show('&file=server.properties');
  await page.getByText('max-players=20').click();
  await page.keyboard.press('End');
  await page.keyboard.type('0');
  const content = PROPERTIES.replace('normal', 'hard').replace('view-distance=10\n', '');
  await callAs(visit, `${files}/content?path=server.properties`, 'PUT', { content });
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText(/was changed since you opened it/).waitFor();
  await page.getByText('difficulty=hard').first().waitFor();
  await take('files-conflict');
  visit.takeFaults();
  page.once('dialog', (dialog) => void dialog.accept());
}
