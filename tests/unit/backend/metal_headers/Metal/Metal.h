// SPDX-License-Identifier: MIT
// Declarations of Metal's that backends/metal/runtime.mm uses: see Foundation/Foundation.h beside it.
#pragma once

#import <Foundation/Foundation.h>

typedef enum MTLGPUFamily : NSInteger {
  MTLGPUFamilyApple1 = 1001,
  MTLGPUFamilyMac1 = 2001,
  MTLGPUFamilyCommon1 = 3001,
  MTLGPUFamilyMetal3 = 5001
} MTLGPUFamily;

typedef enum MTLLanguageVersion : NSUInteger { MTLLanguageVersion3_0 = (3 << 16) } MTLLanguageVersion;
typedef enum MTLMathMode : NSInteger { MTLMathModeSafe = 0, MTLMathModeRelaxed = 1, MTLMathModeFast = 2 } MTLMathMode;
typedef enum MTLLibraryOptimizationLevel : NSInteger {
  MTLLibraryOptimizationLevelDefault = 0,
  MTLLibraryOptimizationLevelSize = 1
} MTLLibraryOptimizationLevel;

@interface MTLCompileOptions : NSObject
@property(copy) NSDictionary<NSString*, NSObject*>* preprocessorMacros;
@property BOOL fastMathEnabled __attribute__((deprecated));
@property MTLMathMode mathMode;
@property MTLLanguageVersion languageVersion;
@property BOOL preserveInvariance;
@property MTLLibraryOptimizationLevel optimizationLevel;
@end

@protocol MTLFunction
@end

@protocol MTLLibrary
- (id<MTLFunction>)newFunctionWithName:(NSString*)name;
@property(readonly) NSArray<NSString*>* functionNames;
@end

@protocol MTLDevice
@property(readonly) NSString* name;
@property(readonly) unsigned long long registryID;
- (BOOL)supportsFamily:(MTLGPUFamily)family;
- (id<MTLLibrary>)newLibraryWithSource:(NSString*)source
                               options:(MTLCompileOptions*)options
                                 error:(NSError* __autoreleasing*)error;
- (id<MTLLibrary>)newLibraryWithData:(dispatch_data_t)data error:(NSError* __autoreleasing*)error;
@end

extern "C" __attribute__((ns_returns_retained)) id<MTLDevice> MTLCreateSystemDefaultDevice(void);
extern "C" __attribute__((ns_returns_retained)) NSArray<id<MTLDevice>>* MTLCopyAllDevices(void);
