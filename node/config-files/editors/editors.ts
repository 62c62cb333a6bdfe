import type { ConfigFile } from '@portcullis/core/game-servers/egg.ts';
import type { Editor } from './edit.ts';
import { editFile } from './file.ts';
import { editIni } from './ini.ts';
import { editJson } from './json.ts';
import { editProperties } from './properties.ts';
import { editXml } from './xml.ts';
import { editYaml } from './yaml.ts';

export const EDITORS: Readonly<Record<ConfigFile['parser'], Editor>> = {
  file: editFile,
  properties: editProperties,
  ini: editIni,
  yaml: editYaml,
  json: editJson,
  xml: editXml,
};
