export { byJobFile, preferCaches } from './federation/cache-choice.ts';
export {
  type CachedCopy,
  askCopy,
  MissingAtOrigin,
  type OriginFacts,
  folderFault,
  readOriginFacts,
  type ObjectInfo,
  type ServerView,
  askDigests,
  statObject,
  viewServer,
} from './federation/stat-object.ts';
export { deleteObject, type ObjectOptions, requestObject } from './federation/object-request.ts';
export { plainHttpRule } from './federation/discovery.ts';
export { isUnder, unescapePath } from './federation/escape-path.ts';
export {
  type CollectionEntry,
  listCollection,
  originAt,
  walkCollection,
} from './federation/list-collection.ts';
export type {
  Issuance,
  LeftOut,
  LocateOptions,
  Located,
  Locator,
  ObjectServer,
} from './federation/located.ts';
export { type FederationLocator, createLocator } from './federation/locator.ts';
export {
  type FederatedUrl,
  type ObjectUrl,
  type PackKind,
  isSameHome,
  parseObjectUrl,
} from './federation/object-url.ts';
export {
  createTokenFiles,
  tokenLocations,
  type LoginTokens,
  covers,
  readClaims,
} from './federation/token.ts';
